/** Which Shorthop this is. */
export { version } from "../package.json";
