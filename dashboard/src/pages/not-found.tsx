import { Link } from "wouter";

import { Empty } from "../ui/states.tsx";

export const NotFoundPage = () => (
  <Empty title="There is no such page">
    <p>
      <Link href="~/">Go to your links</Link>
    </p>
  </Empty>
);
