/** Scrapes a process's Prometheus metrics: values by name and labels. */
export async function scrape(metricsUrl: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text();
  return new Map(
    text
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line): [string, number] => {
        const space = line.lastIndexOf(" ");
        return [line.slice(0, space), Number(line.slice(space + 1))];
      }),
  );
}

/** One value of a process's metrics; NaN without it. */
export const readMetric = async (metricsUrl: string, name: string): Promise<number> =>
  (await scrape(metricsUrl)).get(name) ?? Number.NaN;
