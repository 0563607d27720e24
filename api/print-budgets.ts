/** `bun run budgets`: prints the page of the budgets. */
import { printBudgets } from "./limits/budgets-page.ts";

process.stdout.write(printBudgets());
