/** Changing something, and showing it as it is then. */
import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";

import { toast } from "../ui/toast.tsx";

type After<Result> = {
  /** What is read anew. */
  refresh: readonly QueryKey[];
  /** What is said, when it is done. */
  done?: string | ((result: Result) => string);
  onDone?: (result: Result) => void;
};

/** A change that may be asked for by `mutate`; its `error` is for whoever asks to show. */
export function useChange<Result, Input = void>(
  change: (input: Input) => Promise<Result>,
  { refresh, done, onDone }: After<Result>,
) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: change,
    // What a change answers may be a secret: it is kept for as long as it is shown.
    gcTime: 0,
    async onSuccess(result) {
      await Promise.all(refresh.map((queryKey) => queryClient.invalidateQueries({ queryKey })));
      if (done !== undefined) toast(typeof done === "string" ? done : done(result));
      onDone?.(result);
    },
  });
}
