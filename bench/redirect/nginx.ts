/** nginx with the links as a map: one worker, with a buffered access log or none. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Links } from "./links.ts";

/** Whether nginx is installed; warns with the install command if not. */
export function hasNginx(): boolean {
  if (Bun.which("nginx") !== null || existsSync("/usr/sbin/nginx")) return true;
  console.warn(
    "\n!!! nginx is not installed: its rows are SKIPPED (apt-get install nginx-light)\n",
  );
  return false;
}

/** Files of a certificate and its key. */
export type TlsFiles = { cert: string; key: string };

/** Writes a configuration into `dir`; returns the command that runs nginx in the foreground. */
export function nginxCommand(
  dir: string,
  links: Links,
  port: number,
  logged: boolean,
  tls?: TlsFiles,
): string[] {
  mkdirSync(dir, { recursive: true });
  const map = links.map(({ alias, destination }) => `/${alias} ${destination};`).join("\n");
  writeFileSync(join(dir, "links.map"), map);
  const log = logged
    ? `log_format click '$msec $uri $remote_addr "$http_user_agent" "$http_referer" "$http_accept_language"';
       access_log ${dir}/access.log click buffer=64k flush=100ms;`
    : "access_log off;";
  const secure =
    tls === undefined
      ? ""
      : `ssl_certificate ${tls.cert}; ssl_certificate_key ${tls.key}; ssl_protocols TLSv1.3;
         ssl_session_cache shared:sessions:10m;`;
  writeFileSync(
    join(dir, "nginx.conf"),
    `daemon off; master_process off; worker_processes 1; pid ${dir}/nginx.pid; error_log ${dir}/error.log;
     events { worker_connections 1024; }
     http {
       map_hash_max_size 1048576; map_hash_bucket_size 128;
       keepalive_requests 1000000000; keepalive_timeout 75s;
       client_body_temp_path ${dir}; proxy_temp_path ${dir}; fastcgi_temp_path ${dir};
       uwsgi_temp_path ${dir}; scgi_temp_path ${dir};
       map $uri $destination { include ${dir}/links.map; default ""; }
       ${log}
       server {
         listen 127.0.0.1:${port}${tls === undefined ? "" : " ssl"};
         ${secure}
         location / {
           if ($destination = "") { return 404; }
           add_header Cache-Control "private, no-store";
           return 302 $destination;
         }
       }
     }`,
  );
  const nginx = Bun.which("nginx") ?? "/usr/sbin/nginx";
  return [nginx, "-p", dir, "-e", `${dir}/error.log`, "-c", join(dir, "nginx.conf")];
}

/** The version of the installed nginx; "none" without one. */
export function nginxVersion(): string {
  if (!hasNginx()) return "none";
  const { stderr } = Bun.spawnSync([Bun.which("nginx") ?? "/usr/sbin/nginx", "-v"]);
  return /nginx\/([\d.]+)/.exec(stderr.toString())?.[1] ?? "none";
}
