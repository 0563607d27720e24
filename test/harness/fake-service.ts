/** A service of which a test provides a part: calling another member throws, naming it. */
export function fakeService<Service extends object>(
  name: string,
  part: Partial<NoInfer<Service>> = {},
): Service {
  const service = new Proxy(part, {
    get(target, member) {
      const value: unknown = Reflect.get(target, member);
      // A real service has private fields, which only itself can read.
      if (typeof value === "function") return value.bind(target);
      return (
        value ??
        (() => {
          throw new Error(`This test does not provide ${name}.${String(member)}.`);
        })
      );
    },
  });
  // Every member can be called, so the cast is safe.
  return service as Service;
}
