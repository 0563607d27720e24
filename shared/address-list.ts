/** Lists of IP addresses and CIDR blocks. */
import { BlockList, isIP } from "node:net";

/** Compiles a list of addresses and CIDR blocks. Throws for the first entry that is neither, by `onInvalid`. */
export function createAddressList(
  entries: readonly string[],
  onInvalid: (entry: string) => Error,
): (address: string) => boolean {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", bits] = entry.split("/");
    const version = isIP(address);
    const prefix = bits === undefined ? (version === 6 ? 128 : 32) : Number(bits);
    if (version === 0 || !Number.isInteger(prefix)) throw onInvalid(entry);
    list.addSubnet(address, prefix, version === 6 ? "ipv6" : "ipv4");
  }
  return (address) => {
    const version = isIP(address);
    return version !== 0 && list.check(address, version === 6 ? "ipv6" : "ipv4");
  };
}
