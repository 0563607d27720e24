/** Files with secrets or with data of people: who may read each, and where that is set. */

type PrivateFile = {
  path: string;
  content: string;
  owner: string;
  /** Of a file or a directory, in octal. */
  mode: string;
  /** The file of the repository that sets it, and the text with which it does. */
  setBy: { file: string; text: string };
};

const REDIRECTOR_UNIT = "deploy/systemd/shorthop-redirector@.service";
const BY_HAND = "docs/installing-by-hand.md";

export const PRIVATE_FILES: readonly PrivateFile[] = [
  {
    path: "`/etc/shorthop/*.env`",
    content: "secrets of each process, and of the owner (`migrate.env`); systemd reads them",
    owner: "root",
    mode: "0600",
    setBy: { file: "deploy/packages/packages.ts", text: "chmodSync(path, 0o600)" },
  },
  {
    path: "`/etc/shorthop/secrets.env`",
    content: "all secrets of the host's role, from which setup writes the others",
    owner: "root",
    mode: "0600",
    setBy: { file: "cli/machines/setup/steps.ts", text: "ACCESS = { mode: 0o600 }" },
  },
  {
    path: "`/etc/clickhouse-server/shorthop.env`",
    content: "hashes of the passwords of ClickHouse's users",
    owner: "root",
    mode: "0600",
    setBy: { file: "cli/machines/setup/server-files.ts", text: "access: { mode: 0o600 }" },
  },
  {
    path: "`/root/shorthop.secrets`",
    content: "all secrets, of an installation by hand",
    owner: "root",
    mode: "0600",
    setBy: { file: BY_HAND, text: "umask 077\nsecret()" },
  },
  {
    path: "`/root/shorthop/`",
    content: "the same on three machines, and the key of the routes",
    owner: "root",
    mode: "0700",
    setBy: {
      file: "docs/three-machines.md",
      text: "install --directory --mode=0700 /root/shorthop",
    },
  },
  {
    path: "`/etc/shorthop/nats/`",
    content: "passwords of all users, the key for TLS",
    owner: "root, group nats",
    mode: "0750",
    setBy: {
      file: BY_HAND,
      text: "install --directory --group=nats --mode=0750 /etc/shorthop/nats",
    },
  },
  {
    path: "`/etc/shorthop/nats/*`",
    content: "the same",
    owner: "root, group nats",
    mode: "0640",
    setBy: {
      file: BY_HAND,
      text: "install --group=nats --mode=0640 --target-directory=/etc/shorthop/nats",
    },
  },
  {
    path: "`/var/lib/nats/`",
    content: "streams: links, clicks, ledgers",
    owner: "nats",
    mode: "0700",
    setBy: {
      file: "deploy/nats/nats-server.service.d/shorthop.conf",
      text: "StateDirectoryMode=0700",
    },
  },
  {
    path: "`/etc/shorthop/tls/key.pem`",
    content: "the key of the short domain; systemd gives it to redirectors",
    owner: "root",
    mode: "0600",
    setBy: { file: "deploy/certbot/shorthop-tls", text: "install -D --mode=0600" },
  },
  {
    path: "`/var/lib/shorthop-redirector-*/`",
    content: "the journal: clicks with addresses; used clicks of limits",
    owner: "shorthop-redirector",
    mode: "0700",
    setBy: { file: REDIRECTOR_UNIT, text: "StateDirectoryMode=0700\nUMask=0077" },
  },
  {
    path: "`/var/lib/shorthop-links/`",
    content: "every link, with hashes of passwords",
    owner: "shorthop-redirector",
    mode: "0700",
    setBy: {
      file: REDIRECTOR_UNIT,
      text: "StateDirectory=shorthop-redirector-%i shorthop-links\nStateDirectoryMode=0700",
    },
  },
  {
    path: "`/var/backups/shorthop/`",
    content: "dumps of PostgreSQL, clicks by month",
    owner: "root",
    mode: "0700",
    setBy: { file: "deploy/systemd/shorthop-backup.service", text: "UMask=0077" },
  },
];
