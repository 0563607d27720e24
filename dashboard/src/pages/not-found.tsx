import { Link } from "wouter";

import { Empty } from "../ui/states.tsx";

export const NotFoundPage = () => (
  <Empty title="Page not found">
    <p>
      <Link href="~/">Go to your links</Link>
    </p>
  </Empty>
);
