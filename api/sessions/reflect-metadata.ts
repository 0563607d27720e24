/**
 * The library of passkeys needs this before it is loaded. It imports this itself, but in the
 * executable its modules run in another order, unless a module of ours has loaded this first.
 */
import "reflect-metadata";
