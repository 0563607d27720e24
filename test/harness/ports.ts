/**
 * Returns a port that is currently free, and that no other test on this machine is about to use.
 */
export { findFreePort as freePort } from "../../deploy/local/ports.ts";
