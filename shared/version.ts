/** The version of Shorthop. */
export { version } from "../package.json";
