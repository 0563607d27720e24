/** Serves one file over HTTP on loopback: `bun serve-file.ts PATH PORT`. */
const [path = "", port] = process.argv.slice(2);

Bun.serve({ hostname: "127.0.0.1", port: Number(port), fetch: () => new Response(Bun.file(path)) });
console.log("listening");
