/**
 * The shares of a link or of the account. Anyone with a share's URL can read its statistics until
 * it is revoked.
 */
import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";

import type { Share } from "../../../../../clients/typescript/src/index.ts";
import { getClient } from "../../../data/http.ts";
import { useAccountContext, useCanWrite } from "../../../data/session.ts";
import { Button } from "../../../ui/button.tsx";
import { ConfirmDialog, Dialog } from "../../../ui/dialog.tsx";
import { formatDate, formatDateTime } from "../../../ui/format.ts";
import { useApiMutation } from "../../../ui/mutation.ts";
import { Empty, QueryBoundary } from "../../../ui/states.tsx";
import { ACTIONS, Table } from "../../../ui/table.tsx";
import { isFilterName } from "../dimensions.ts";
import { FILTER_LABELS } from "../filters.ts";

type ShareListProps = {
  /** Null for shares of all links together. */
  link: string | null;
  onNew: () => void;
  onClose: () => void;
};

export function ShareListDialog({ link, onNew, onClose }: ShareListProps) {
  const { scope } = useAccountContext();
  const canWrite = useCanWrite();
  const [revoking, setRevoking] = useState<Share>();
  const shares = useQuery({
    queryKey: ["shares", scope],
    queryFn: () => Array.fromAsync(getClient(scope).shares.all()),
  });
  if (revoking !== undefined)
    return <RevokeDialog share={revoking} onClose={() => setRevoking(undefined)} />;
  return (
    <Dialog title="Shared statistics" onClose={onClose} wide>
      <QueryBoundary query={shares} label="shared statistics">
        {(data) => (
          <ShareTable
            shares={data.filter(({ link_id }) => link_id === link)}
            onRevoke={canWrite ? setRevoking : undefined}
          />
        )}
      </QueryBoundary>
      <footer>
        <Button onClick={onClose}>Close</Button>
        {canWrite && (
          <Button variant="primary" onClick={onNew}>
            <Plus aria-hidden /> New share
          </Button>
        )}
      </footer>
    </Dialog>
  );
}

const describeAccess = ({ has_password, expires_at }: Share): string =>
  [
    has_password ? "With a password" : "Without a password",
    expires_at === null
      ? undefined
      : `${Date.parse(expires_at) > Date.now() ? "until" : "expired"} ${formatDateTime(expires_at)}`,
  ]
    .filter(Boolean)
    .join(", ");

const nameOf = ({ name, created_at }: Share): string =>
  name ?? `Shared on ${formatDate(created_at)}`;

function ShareTable({
  shares,
  onRevoke,
}: {
  shares: readonly Share[];
  onRevoke: ((share: Share) => void) | undefined;
}) {
  if (shares.length === 0) {
    return (
      <Empty title="Not shared yet">
        <p>A share has a secret URL that shows these statistics to people without an account.</p>
      </Empty>
    );
  }
  return (
    <Table className="shares" label="Shared statistics" head={["Name", "Shows", "Access", ACTIONS]}>
      {shares.map((share) => (
        <tr key={share.id}>
          <td>
            <strong>{nameOf(share)}</strong>
            <div className="hint">Created {formatDateTime(share.created_at)}</div>
          </td>
          <td>
            {[
              "Clicks",
              ...share.breakdowns.filter(isFilterName).map((name) => FILTER_LABELS[name]),
            ].join(", ")}
          </td>
          <td>{describeAccess(share)}</td>
          <td className="row-actions">
            {onRevoke !== undefined && (
              <Button
                variant="quiet"
                aria-label={`Revoke ${nameOf(share)}`}
                onClick={() => onRevoke(share)}
              >
                Revoke
              </Button>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function RevokeDialog({ share, onClose }: { share: Share; onClose: () => void }) {
  const { scope } = useAccountContext();
  const revoke = useApiMutation(() => getClient(scope).shares.revoke(share.id), {
    invalidate: [["shares", scope]],
    successMessage: "The share has been revoked.",
    onSuccess: onClose,
  });
  return (
    <ConfirmDialog
      title="Revoke this share?"
      action="Revoke"
      onClose={onClose}
      onConfirm={() => revoke.mutate()}
      loading={revoke.isPending}
      error={revoke.error}
    >
      <p>Its URL stops working at once, also where it is embedded. A new share has another URL.</p>
    </ConfirmDialog>
  );
}
