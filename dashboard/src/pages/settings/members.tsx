/** Who belongs to the account. Owners invite, change roles and remove. */
import { useQuery } from "@tanstack/react-query";
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { useForm } from "react-hook-form";

import { email as emailRule, type Role, ROLES } from "../../../../shared/contracts/people.ts";
import { useChange } from "../../data/change.ts";
import { messageOf } from "../../data/errors.ts";
import { ask, send } from "../../data/http.ts";
import { SESSION_KEY, useHere } from "../../data/session.ts";
import { Button, CopyButton, IconButton } from "../../ui/button.tsx";
import { ConfirmDialog, Dialog, DialogForm } from "../../ui/dialog.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { moment } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Problem, Show } from "../../ui/states.tsx";
import { ACTIONS, Table } from "../../ui/table.tsx";
import { problemOf } from "../../ui/validation.ts";

type Member = { user_id: string; email: string; name: string; role: Role; created_at: string };
type Invitation = { id: string; email: string; role: Role; created_at: string; expires_at: string };
type MemberList = { members: Member[]; invitations: Invitation[] };

const ROLE_CHOICES: readonly { value: Role; label: string }[] = [
  { value: "owner", label: "Owner: everything, with keys and members" },
  { value: "member", label: "Member: links, analytics and domains" },
  { value: "viewer", label: "Viewer: looks, changes nothing" },
];

export function MembersPage() {
  const { account, session } = useHere();
  const [inviting, setInviting] = useState(false);
  const [removing, setRemoving] = useState<Member>();
  const isOwner = account.role === "owner";
  const list = useQuery({
    queryKey: ["members", account.id],
    queryFn: () => ask<MemberList>(`/api/${account.id}/members`),
  });
  return (
    <Page
      title="Members"
      intro={`People who work in ${account.name}.`}
      actions={
        isOwner && (
          <Button look="primary" onClick={() => setInviting(true)}>
            <Plus aria-hidden /> Invite
          </Button>
        )
      }
    >
      <Card>
        <Show query={list} what="members">
          {({ members }) => (
            <Table label="Members" head={["Name", "Role", "Since", ACTIONS]}>
              {members.map((member) => (
                <tr key={member.user_id}>
                  <td>
                    <strong>{member.name}</strong>
                    {member.user_id === session.user.id && " (you)"}
                    <div className="hint">{member.email}</div>
                  </td>
                  <td>{isOwner ? <RoleChoice member={member} /> : member.role}</td>
                  <td>{moment(member.created_at)}</td>
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
        </Show>
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

/** What is read anew when members have changed: it may have been about whoever is looking. */
const useAffected = () => [["members", useHere().account.id], SESSION_KEY];

function RoleChoice({ member }: { member: Member }) {
  const { account } = useHere();
  const change = useChange(
    (role: Role) =>
      send(`/api/${account.id}/members/${member.user_id}`, { method: "PATCH", body: { role } }),
    { refresh: useAffected(), done: "The role has been changed." },
  );
  return (
    <>
      <select
        aria-label={`Role of ${member.name}`}
        value={member.role}
        disabled={change.isPending}
        onChange={(event) => {
          const role = ROLES.find((known) => known === event.target.value);
          if (role !== undefined) change.mutate(role);
        }}
      >
        {ROLES.map((role) => (
          <option key={role}>{role}</option>
        ))}
      </select>
      {change.error !== null && <Problem>{messageOf(change.error)}</Problem>}
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
  const { account } = useHere();
  const withdraw = useChange(
    (id: string) => send(`/api/${account.id}/invitations/${id}`, { method: "DELETE" }),
    { refresh: useAffected(), done: "The invitation has been withdrawn." },
  );
  return (
    <Card title="Invitations">
      {withdraw.error !== null && <Problem>{messageOf(withdraw.error)}</Problem>}
      <ul className="rows">
        {invitations.map(({ id, email, role, expires_at }) => (
          <li key={id}>
            <span>
              <strong>{email}</strong> as {role}, until {moment(expires_at)}
            </span>
            {isOwner && (
              <Button look="quiet" onClick={() => withdraw.mutate(id)}>
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
  const { account } = useHere();
  const form = useForm<InviteValues>({
    mode: "onTouched",
    defaultValues: { email: "", role: "member" },
  });
  const invite = useChange(
    (body: InviteValues) =>
      ask<{ token: string }>(`/api/${account.id}/invitations`, { method: "POST", body }),
    { refresh: useAffected() },
  );
  if (invite.data !== undefined) {
    const url = `${location.origin}/invite/${invite.data.token}`;
    return (
      <Dialog title="Invitation" onClose={onClose} locked>
        <p className="warning">
          Hand this link over yourself, to nobody else: whoever opens it joins. It is shown this
          once and works for a week.
        </p>
        <div className="secret">
          <code>{url}</code>
          <CopyButton text={url} label="Copy the link">
            Copy
          </CopyButton>
        </div>
        <footer>
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        </footer>
      </Dialog>
    );
  }
  return (
    <Dialog title="Invite somebody" onClose={onClose}>
      <DialogForm
        action="Make invitation"
        onSubmit={(event) => void form.handleSubmit((values) => invite.mutate(values))(event)}
        onCancel={onClose}
        busy={invite.isPending}
        error={invite.error}
      >
        <TextField
          label="E-mail address"
          type="email"
          problem={form.formState.errors.email?.message}
          {...form.register("email", { validate: problemOf(emailRule) })}
        />
        <SelectField label="Role" choices={ROLE_CHOICES} {...form.register("role")} />
      </DialogForm>
    </Dialog>
  );
}

function RemoveDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const { account } = useHere();
  const remove = useChange(
    () => send(`/api/${account.id}/members/${member.user_id}`, { method: "DELETE" }),
    { refresh: useAffected(), done: "The member has been removed.", onDone: onClose },
  );
  return (
    <ConfirmDialog
      title={`Remove ${member.name}?`}
      action="Remove"
      onClose={onClose}
      onConfirm={() => remove.mutate()}
      busy={remove.isPending}
      error={remove.error}
    >
      <p>
        {member.email} sees nothing of {account.name} any more. Links and keys they made stay.
      </p>
    </ConfirmDialog>
  );
}
