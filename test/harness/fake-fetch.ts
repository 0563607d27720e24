/** A `fetch` whose requests a test answers. */
export const fakeFetch = (
  reply: (request: Request) => Response | Promise<Response>,
): typeof fetch =>
  Object.assign(
    async (url: string | URL | Request, init?: RequestInit) =>
      await reply(
        url instanceof Request ? new Request(url, init) : new Request(url.toString(), init),
      ),
    { preconnect: () => undefined },
  );
