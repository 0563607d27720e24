import { Download } from "lucide-react";
import { useState } from "react";

import type { ListedLink } from "../../../../clients/typescript/src/index.ts";
import { readableUrl } from "../../../../shared/contracts/readable-host.ts";
import { getBasePath } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { SelectField } from "../../ui/field.tsx";

const SIZES = ["256", "512", "1024", "2048"].map((value) => ({
  value,
  label: `${value} × ${value} pixels`,
}));

const CORRECTIONS = [
  { value: "L", label: "Low: 7 % can be covered" },
  { value: "M", label: "Medium: 15 %" },
  { value: "Q", label: "High: 25 %" },
  { value: "H", label: "Highest: 30 %, for a logo" },
];

type QrDialogProps = {
  link: Pick<ListedLink, "id" | "short_url" | "alias">;
  onClose: () => void;
};

export function QrDialog({ link, onClose }: QrDialogProps) {
  const { scope } = useAccountContext();
  const [size, setSize] = useState("512");
  const [correction, setCorrection] = useState("M");
  const buildUrl = (format: "svg" | "png") => {
    const query = new URLSearchParams({ format, size, error_correction: correction });
    return `${getBasePath(scope)}/v1/links/${link.id}/qr?${query.toString()}`;
  };
  return (
    <Dialog title="QR code" onClose={onClose}>
      <img className="qr" src={buildUrl("svg")} alt={`QR code of ${link.short_url}`} />
      <p className="centred">{readableUrl(link.short_url)}</p>
      <div className="columns">
        <SelectField
          label="Size"
          options={SIZES}
          value={size}
          onChange={(event) => setSize(event.target.value)}
        />
        <SelectField
          label="Error correction"
          options={CORRECTIONS}
          value={correction}
          onChange={(event) => setCorrection(event.target.value)}
        />
      </div>
      <footer>
        {(["svg", "png"] as const).map((format) => (
          <a
            key={format}
            className="button button-plain"
            href={buildUrl(format)}
            download={`${link.alias}.${format}`}
          >
            <Download aria-hidden /> {format.toUpperCase()}
          </a>
        ))}
      </footer>
    </Dialog>
  );
}
