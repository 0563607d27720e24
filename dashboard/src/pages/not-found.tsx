import { Link } from "wouter";

import { t } from "../languages/translate.ts";
import { Empty } from "../ui/states.tsx";

export const NotFoundPage = () => (
  <Empty title={t("shell.notFound")}>
    <p>
      <Link href="~/">{t("shell.goToLinks")}</Link>
    </p>
  </Empty>
);
