/** The fields of a link's preview, and its card as chats and social networks display it. */
import { ImageIcon } from "lucide-react";
import { useEffect, useState } from "react";
import type { UseFormReturn } from "react-hook-form";

import { parseWebUrl } from "../../../../shared/contracts/web-url.ts";
import { useAccountContext } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { Disclosure, formField, hasErrors, TextField } from "../../ui/field.tsx";
import type { LinkValues } from "./form.ts";

/**
 * How long an image's URL must stay unchanged before the image is fetched: half-typed hosts get no
 * request.
 */
const SETTLED_MS = 700;

/** A card needs a title: its presence is validated again when another field changes. */
const NEEDS_TITLE: { deps: "preview_title" } = { deps: "preview_title" };

export function PreviewFields({
  form,
  hasPassword,
}: {
  form: UseFormReturn<LinkValues>;
  hasPassword: boolean;
}) {
  const { session } = useAccountContext();
  const [title, description, image, domain, password, removed] = form.watch([
    "preview_title",
    "preview_description",
    "preview_image",
    "domain",
    "password",
    "removePassword",
  ]);
  const isProtected = password !== "" || (hasPassword && !removed);
  return (
    <Disclosure
      title={t("links.preview.title")}
      hasError={hasErrors(form, "preview_title", "preview_description", "preview_image")}
    >
      <div className="stack">
        <p className="hint">
          {t("links.preview.text")}
          {isProtected && ` ${t("links.preview.protected")}`}
        </p>
        <TextField
          label={t("links.preview.cardTitle")}
          placeholder={t("links.preview.cardTitleExample")}
          {...formField(form, "preview_title")}
        />
        <TextField
          label={t("links.preview.cardDescription")}
          placeholder={t("links.preview.cardDescriptionExample")}
          {...formField(form, "preview_description", NEEDS_TITLE)}
        />
        <TextField
          label={t("links.preview.cardImage")}
          type="url"
          inputMode="url"
          placeholder="https://example.com/spring.png"
          hint={t("links.preview.cardImageHint")}
          {...formField(form, "preview_image", NEEDS_TITLE)}
        />
        {title.trim() !== "" && (
          <SocialCard
            host={domain === "" ? new URL(session.short_url).host : domain}
            title={title}
            description={description}
            image={hasErrors(form, "preview_image") ? "" : image}
          />
        )}
      </div>
    </Disclosure>
  );
}

type SocialCardProps = { host: string; title: string; description: string; image: string };

const SocialCard = ({ host, title, description, image }: SocialCardProps) => (
  <figure className="social">
    <div className="social-card">
      <CardImage key={image} url={image.trim()} />
      <div className="social-text">
        <span className="social-host">{host}</span>
        <strong>{title}</strong>
        {description.trim() !== "" && <span className="social-description">{description}</span>}
      </div>
    </div>
    <figcaption className="hint">{t("links.preview.caption")}</figcaption>
  </figure>
);

/** The card's image, after its URL has stayed unchanged for a moment. */
function CardImage({ url }: { url: string }) {
  const [state, setState] = useState<"waiting" | "shown" | "failed">("waiting");
  useEffect(() => {
    const timer = setTimeout(() => setState("shown"), SETTLED_MS);
    return () => clearTimeout(timer);
  }, []);
  const parsed = parseWebUrl(url);
  if (state === "shown" && "url" in parsed && parsed.url.protocol === "https:") {
    return (
      <img
        className="social-image"
        src={parsed.url.href}
        alt={t("links.preview.imageAlt")}
        // Not fetched before the section is open.
        loading="lazy"
        onError={() => setState("failed")}
      />
    );
  }
  return (
    <div className="social-image social-empty">
      <ImageIcon aria-hidden />
      <span>
        {state === "failed" ? t("links.preview.imageFailed") : t("links.preview.noImage")}
      </span>
    </div>
  );
}
