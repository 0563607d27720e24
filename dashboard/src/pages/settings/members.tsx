/** Members of the account. Owners can invite, change roles and remove. */
import { useQuery } from "@tanstack/react-query";
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { useForm } from "react-hook-form";

import { email as emailRule, type Role, ROLES } from "../../../../shared/contracts/users.ts";
import { getErrorMessage } from "../../data/errors.ts";
import { getJson, send } from "../../data/http.ts";
import { SESSION_KEY, useAccountContext } from "../../data/session.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { ConfirmDialog, Dialog, DialogForm } from "../../ui/dialog.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { formatDateTime } from "../../ui/format.ts";
import { useApiMutation } from "../../ui/mutation.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Secret, SecretDialog } from "../../ui/secret-dialog.tsx";
import { Alert, QueryBoundary } from "../../ui/states.tsx";
import { ACTIONS, Table } from "../../ui/table.tsx";
import { validateWith } from "../../ui/validation.ts";

type Member = { user_id: string; email: string; name: string; role: Role; created_at: string };
type Invitation = { id: string; email: string; role: Role; created_at: string; expires_at: string };
type MemberList = { members: Member[]; invitations: Invitation[] };

const ROLE_OPTIONS: readonly { value: Role; label: string }[] = [
  { value: "owner", label: "Owner: full access, including API keys and members" },
  { value: "member", label: "Member: manages links and domains" },
  { value: "viewer", label: "Viewer: read-only" },
];

export function MembersPage() {
  const { account, session } = useAccountContext();
  const [inviting, setInviting] = useState(false);
  const [removing, setRemoving] = useState<Member>();
  const isOwner = account.role === "owner";
  const list = useQuery({
    queryKey: ["members", account.id],
    queryFn: () => getJson<MemberList>(`/api/${account.id}/members`),
  });
  return (
    <Page
      title="Members"
      intro={`People with access to ${account.name}.`}
      actions={
        isOwner && (
          <Button variant="primary" onClick={() => setInviting(true)}>
            <Plus aria-hidden /> Invite
          </Button>
        )
      }
    >
      <Card>
        <QueryBoundary query={list} label="members">
          {({ members }) => (
            <Table label="Members" head={["Name", "Role", "Joined", ACTIONS]}>
              {members.map((member) => (
                <tr key={member.user_id}>
                  <td>
                    <strong>{member.name}</strong>
                    {member.user_id === session.user.id && " (you)"}
                    <div className="hint">{member.email}</div>
                  </td>
                  <td>{isOwner ? <RoleSelect member={member} /> : member.role}</td>
                  <td>{formatDateTime(member.created_at)}</td>
                  <td className="row-actions">
                    {isOwner && (
                      <IconButton
                        label={`Remove ${member.name}`}
                        onClick={() => setRemoving(member)}
                      >
                        <Trash2 aria-hidden />
                      </IconButton>
                    )}
                  </td>
                </tr>
              ))}
            </Table>
          )}
        </QueryBoundary>
      </Card>
      {(list.data?.invitations.length ?? 0) > 0 && (
        <Invitations invitations={list.data?.invitations ?? []} isOwner={isOwner} />
      )}
      {inviting && <InviteDialog onClose={() => setInviting(false)} />}
      {removing !== undefined && (
        <RemoveDialog member={removing} onClose={() => setRemoving(undefined)} />
      )}
    </Page>
  );
}

/**
 * Queries to refetch when members change. Includes the session, because the change may affect the
 * current user.
 */
const useMemberQueries = () => [["members", useAccountContext().account.id], SESSION_KEY];

function RoleSelect({ member }: { member: Member }) {
  const { account } = useAccountContext();
  const change = useApiMutation(
    (role: Role) =>
      send(`/api/${account.id}/members/${member.user_id}`, { method: "PATCH", body: { role } }),
    { invalidate: useMemberQueries(), successMessage: "The role has been changed." },
  );
  return (
    <>
      <select
        aria-label={`Role of ${member.name}`}
        value={member.role}
        disabled={change.isPending}
        onChange={(event) => {
          const role = ROLES.find((candidate) => candidate === event.target.value);
          if (role !== undefined) change.mutate(role);
        }}
      >
        {ROLES.map((role) => (
          <option key={role}>{role}</option>
        ))}
      </select>
      {change.error !== null && <Alert>{getErrorMessage(change.error)}</Alert>}
    </>
  );
}

function Invitations({
  invitations,
  isOwner,
}: {
  invitations: readonly Invitation[];
  isOwner: boolean;
}) {
  const { account } = useAccountContext();
  const withdraw = useApiMutation(
    (id: string) => send(`/api/${account.id}/invitations/${id}`, { method: "DELETE" }),
    { invalidate: useMemberQueries(), successMessage: "The invitation has been withdrawn." },
  );
  return (
    <Card title="Invitations">
      {withdraw.error !== null && <Alert>{getErrorMessage(withdraw.error)}</Alert>}
      <ul className="rows">
        {invitations.map(({ id, email, role, expires_at }) => (
          <li key={id}>
            <span>
              <strong>{email}</strong> as {role}, until {formatDateTime(expires_at)}
            </span>
            {isOwner && (
              <Button variant="quiet" onClick={() => withdraw.mutate(id)}>
                Withdraw
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

type InviteValues = { email: string; role: Role };

function InviteDialog({ onClose }: { onClose: () => void }) {
  const { account } = useAccountContext();
  const form = useForm<InviteValues>({
    mode: "onTouched",
    defaultValues: { email: "", role: "member" },
  });
  const invite = useApiMutation(
    (body: InviteValues) =>
      getJson<{ token: string }>(`/api/${account.id}/invitations`, { method: "POST", body }),
    { invalidate: useMemberQueries() },
  );
  if (invite.data !== undefined) {
    const url = `${location.origin}/invite/${invite.data.token}`;
    return (
      <SecretDialog
        title="Invitation"
        warning="Send this link only to the person you invite: anyone who opens it can join. It is shown only once and expires after a week."
        done="Done"
        onClose={onClose}
      >
        <Secret text={url} copyLabel="Copy link" testId="invitation" />
      </SecretDialog>
    );
  }
  return (
    <Dialog title="Invite a member" onClose={onClose}>
      <DialogForm
        action="Create invitation"
        onSubmit={(event) => void form.handleSubmit((values) => invite.mutate(values))(event)}
        onCancel={onClose}
        loading={invite.isPending}
        error={invite.error}
      >
        <TextField
          label="E-mail address"
          type="email"
          error={form.formState.errors.email?.message}
          {...form.register("email", { validate: validateWith(emailRule) })}
        />
        <SelectField label="Role" options={ROLE_OPTIONS} {...form.register("role")} />
      </DialogForm>
    </Dialog>
  );
}

function RemoveDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const { account } = useAccountContext();
  const remove = useApiMutation(
    () => send(`/api/${account.id}/members/${member.user_id}`, { method: "DELETE" }),
    {
      invalidate: useMemberQueries(),
      successMessage: "The member has been removed.",
      onSuccess: onClose,
    },
  );
  return (
    <ConfirmDialog
      title={`Remove ${member.name}?`}
      action="Remove"
      onClose={onClose}
      onConfirm={() => remove.mutate()}
      loading={remove.isPending}
      error={remove.error}
    >
      <p>
        {member.email} loses access to {account.name}. Links and keys they created remain.
      </p>
    </ConfirmDialog>
  );
}
