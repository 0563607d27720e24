/**
 * What a library of passkeys needs to be there before it is loaded. It says so itself, but in the
 * executable its modules run in another order, unless a module of ours has loaded this first.
 */
import "reflect-metadata";
