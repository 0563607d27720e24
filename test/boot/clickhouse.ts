/** Instead of a ClickHouse server: the engine of the local stack, as a service of the machine. */
import { GATEWAY_FLAG } from "../../deploy/local/stack.ts";
import { eventually } from "../harness/eventually.ts";
import { type Machine, PROJECT_MOUNT } from "./machine.ts";

const PASSWORD = "engine-of-the-boot-test";
const START_MS = 30_000;

/** Of several machines, the one with the engine. */
export const FIRST_ADDRESS = "10.0.0.11";

const UNIT = `[Unit]
Description=ClickHouse engine of the local stack

[Service]
Environment=CLICKHOUSE_GATEWAY_DATA_DIR=/var/lib/clickhouse-engine
Environment=CLICKHOUSE_GATEWAY_PASSWORD=${PASSWORD}
ExecStart=${PROJECT_MOUNT}/node_modules/.bin/bun ${GATEWAY_FLAG} ${PROJECT_MOUNT}/deploy/local/clickhouse/main.ts
Restart=always

[Install]
WantedBy=multi-user.target
`;

/** For `shorthop setup --file`: the URL for each user of a ClickHouse that setup leaves alone. */
export const CLICKHOUSE_SETTINGS = ["CLICKHOUSE_API", "CLICKHOUSE_WORKER", "CLICKHOUSE_OWNER"]
  .map((name) => `${name}=http://shorthop:${PASSWORD}@127.0.0.1:8123/shorthop\n`)
  .join("");

/** Stands for what the step of ClickHouse of docs/installing-by-hand.md leaves in the secrets. */
export const CLICKHOUSE_SECRETS = CLICKHOUSE_SETTINGS.replaceAll(/^/gm, "export ").replace(
  /export $/,
  "",
);

export async function startGateway(machine: Machine): Promise<void> {
  await machine.run(`cat > /etc/systemd/system/clickhouse-engine.service <<'END'
${UNIT}END
systemctl enable --quiet --now clickhouse-engine`);
  await eventually(() => machine.run("curl --fail --silent localhost:8123/ping"), START_MS);
}

/** The engine listens to the other machines as well; on the first of several. */
export async function startSharedGateway(machine: Machine): Promise<void> {
  await machine.run(`mkdir -p /etc/systemd/system/clickhouse-engine.service.d
cat > /etc/systemd/system/clickhouse-engine.service.d/host.conf <<'END'
[Service]
Environment=CLICKHOUSE_GATEWAY_HOST=0.0.0.0
END`);
  await startGateway(machine);
}

/**
 * The engine answers only for its own machine, so another one has a relay of systemd's on its
 * loopback address.
 */
export async function relayToGateway(machine: Machine): Promise<void> {
  await machine.run(`cat > /etc/systemd/system/clickhouse-engine.socket <<'END'
[Socket]
ListenStream=127.0.0.1:8123
[Install]
WantedBy=sockets.target
END
cat > /etc/systemd/system/clickhouse-engine.service <<'END'
[Service]
ExecStart=/usr/lib/systemd/systemd-socket-proxyd ${FIRST_ADDRESS}:8123
END
systemctl enable --quiet --now clickhouse-engine.socket`);
  await eventually(() => machine.run("curl --fail --silent localhost:8123/ping"), START_MS);
}
