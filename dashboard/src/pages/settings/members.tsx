/** Members of the account. Owners can invite, change roles and remove. */
import { KeyRound, Plus, Trash2 } from "lucide-react";

import type { Invitation, Member } from "../../../../shared/contracts/user-responses.ts";
import { email as emailRule, type Role, ROLES } from "../../../../shared/contracts/users.ts";
import { useMembersQuery } from "../../data/account-lists.ts";
import { post, send } from "../../data/http.ts";
import { SESSION_KEY, useAccountContext } from "../../data/session.ts";
import { rich, strong, t } from "../../languages/translate.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { ActionDialog, ConfirmDialog, FormDialog, SecretDialog } from "../../ui/dialog.tsx";
import { CheckField, Select, SelectField, TextField } from "../../ui/field.tsx";
import { formField, useFormAction } from "../../ui/form.ts";
import { formatDateTime } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { ErrorAlert, QueryBoundary, useApiMutation } from "../../ui/states.tsx";
import { RowTable } from "../../ui/table.tsx";

const roleName = (role: Role): string => t(`settings.members.role.${role}`);

export function MembersPage() {
  const { account } = useAccountContext();
  const isOwner = account.role === "owner";
  const list = useMembersQuery();
  return (
    <Page
      title={t("shell.pages.members")}
      intro={t("settings.members.intro", { account: account.name })}
      actions={
        isOwner && (
          <Button variant="primary" opens={(close) => <InviteDialog onClose={close} />}>
            <Plus aria-hidden /> {t("settings.members.invite")}
          </Button>
        )
      }
    >
      <Card>
        <QueryBoundary query={list} label={t("shell.pages.members")}>
          {({ members }) => <MemberTable members={members} />}
        </QueryBoundary>
      </Card>
      {isOwner && list.data !== undefined && (
        <NeededFactors roles={list.data.second_factor_roles} />
      )}
      {(list.data?.invitations.length ?? 0) > 0 && (
        <Invitations invitations={list.data?.invitations ?? []} isOwner={isOwner} />
      )}
    </Page>
  );
}

function NeededFactors({ roles }: { roles: readonly Role[] }) {
  const { account } = useAccountContext();
  const change = useApiMutation(
    (needed: Role[]) =>
      send(`/api/${account.id}/members/second-factor`, { method: "PUT", body: { roles: needed } }),
    { invalidate: MEMBER_QUERIES, successMessage: t("settings.members.factorsChanged") },
  );
  return (
    <Card title={t("settings.secondFactor.title")}>
      <p>{t("settings.members.factors")}</p>
      {ROLES.map((value) => (
        <CheckField
          key={value}
          label={t(`settings.members.roles.${value}`)}
          checked={roles.includes(value)}
          disabled={change.isPending}
          onChange={({ target: { checked } }) =>
            change.mutate(ROLES.filter((role) => (role === value ? checked : roles.includes(role))))
          }
        />
      ))}
      <ErrorAlert error={change.error} />
    </Card>
  );
}

function MemberTable({ members }: { members: readonly Member[] }) {
  const { account, session } = useAccountContext();
  const isOwner = account.role === "owner";
  return (
    <RowTable
      label={t("shell.pages.members")}
      rows={members}
      keyOf={({ user_id }) => user_id}
      columns={[
        {
          name: t("fields.name"),
          cell: ({ user_id, name, email }) => (
            <>
              <strong>{name}</strong>
              {user_id === session.user.id && ` ${t("settings.members.you")}`}
              <div className="hint">{email}</div>
            </>
          ),
        },
        {
          name: t("fields.role"),
          isNamed: true,
          cell: (member) => (isOwner ? <RoleSelect member={member} /> : roleName(member.role)),
        },
        {
          name: t("settings.members.joined"),
          isNamed: true,
          cell: ({ created_at }) => formatDateTime(created_at),
        },
      ]}
      actions={(member) => isOwner && <MemberActions member={member} />}
    />
  );
}

function MemberActions({ member }: { member: Member }) {
  const { session } = useAccountContext();
  return (
    <>
      {member.user_id !== session.user.id && (
        <IconButton
          label={t("settings.members.resetFor", { name: member.name })}
          opens={(close) => <ResetDialog member={member} onClose={close} />}
        >
          <KeyRound aria-hidden />
        </IconButton>
      )}
      <IconButton
        label={t("settings.members.remove", { name: member.name })}
        opens={(close) => <RemoveDialog member={member} onClose={close} />}
      >
        <Trash2 aria-hidden />
      </IconButton>
    </>
  );
}

/** What a change of members affects; the session, because it may be of the current user. */
const MEMBER_QUERIES = ["members", ...SESSION_KEY];

function RoleSelect({ member }: { member: Member }) {
  const { account } = useAccountContext();
  const change = useApiMutation(
    (role: Role) =>
      send(`/api/${account.id}/members/${member.user_id}`, { method: "PATCH", body: { role } }),
    { invalidate: MEMBER_QUERIES, successMessage: t("settings.members.roleChanged") },
  );
  return (
    <>
      <Select
        aria-label={t("settings.members.roleOf", { name: member.name })}
        value={member.role}
        disabled={change.isPending}
        options={ROLES.map((role) => ({ value: role, label: roleName(role) }))}
        onChoose={change.mutate}
      />
      <ErrorAlert error={change.error} />
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
    { invalidate: MEMBER_QUERIES, successMessage: t("settings.members.withdrawn") },
  );
  const invite = useApiMutation(useInvite(), { invalidate: MEMBER_QUERIES });
  return (
    <Card title={t("settings.members.invitations")}>
      {invite.data !== undefined && (
        <InvitationLink token={invite.data.token} onClose={() => invite.reset()} />
      )}
      <ul className="rows">
        {invitations.map(({ id, email, role, expires_at }) => (
          <li key={id}>
            <span>
              {rich("settings.members.invitedAs", {
                email,
                role: roleName(role),
                time: formatDateTime(expires_at),
                strong,
              })}
            </span>
            {isOwner && (
              <span className="actions">
                <Button variant="quiet" onClick={() => invite.mutateAsync({ email, role })}>
                  {t("settings.members.newLink")}
                </Button>
                <Button variant="quiet" onClick={() => withdraw.mutateAsync(id)}>
                  {t("settings.members.withdraw")}
                </Button>
              </span>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

type InviteValues = { email: string; role: Role };

/** Invites a person; of one who is invited already, the link until now stops working. */
function useInvite() {
  const { account } = useAccountContext();
  return (body: InviteValues) => post<{ token: string }>(`/api/${account.id}/invitations`, body);
}

const InvitationLink = ({ token, onClose }: { token: string; onClose: () => void }) => (
  <SecretDialog
    title={t("settings.members.invitation")}
    warning={t("settings.members.invitationWarning")}
    done={t("ui.done")}
    onClose={onClose}
    text={`${location.origin}/invite/${token}`}
    copyLabel={t("settings.members.copyLink")}
    testId="invitation"
  />
);

function InviteDialog({ onClose }: { onClose: () => void }) {
  const { form, action, props } = useFormAction<InviteValues, { token: string }>(
    { email: "", role: "member" },
    useInvite(),
    { invalidate: MEMBER_QUERIES },
  );
  if (action.data !== undefined)
    return <InvitationLink token={action.data.token} onClose={onClose} />;
  return (
    <FormDialog
      title={t("settings.members.inviteTitle")}
      action={t("settings.members.createInvitation")}
      onClose={onClose}
      {...props}
    >
      <TextField label={t("signIn.email")} type="email" {...formField(form, "email", emailRule)} />
      <SelectField
        label={t("fields.role")}
        options={ROLES.map((value) => ({ value, label: t(`settings.members.roles.${value}`) }))}
        {...formField(form, "role")}
      />
    </FormDialog>
  );
}

/** Makes a link with which a member who forgot the password sets a new one. */
function ResetDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const { account } = useAccountContext();
  const path = `/api/${account.id}/members/${member.user_id}/password-resets`;
  const make = useApiMutation(() => post<{ token: string; expires_at: string }>(path));
  if (make.data !== undefined) {
    const { token, expires_at } = make.data;
    return (
      <SecretDialog
        title={t("settings.members.resetTitle", { name: member.name })}
        warning={t("settings.members.resetWarning", { time: formatDateTime(expires_at) })}
        done={t("ui.done")}
        onClose={onClose}
        text={`${location.origin}/reset-password/${token}`}
        copyLabel={t("settings.members.copyLink")}
        testId="reset-link"
      />
    );
  }
  return (
    <ConfirmDialog
      title={t("settings.members.resetTitle", { name: member.name })}
      action={t("settings.members.resetAction")}
      onClose={onClose}
      task={make}
    >
      <p>{t("settings.members.resetText", { email: member.email })}</p>
    </ConfirmDialog>
  );
}

function RemoveDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const { account } = useAccountContext();
  return (
    <ActionDialog
      title={t("settings.members.removeTitle", { name: member.name })}
      action={t("ui.remove")}
      run={() => send(`/api/${account.id}/members/${member.user_id}`, { method: "DELETE" })}
      invalidate={MEMBER_QUERIES}
      successMessage={t("settings.members.removed")}
      onClose={onClose}
    >
      <p>{t("settings.members.removeText", { email: member.email, account: account.name })}</p>
    </ActionDialog>
  );
}
