/** Mutations through the API that refresh the affected queries. */
import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";

import { toast } from "./toast.tsx";

/** Like `useMutation`; refetches queries and shows a toast on success. The caller shows `error`. */
export function useApiMutation<Result, Input = void>(
  mutationFn: (input: Input) => Promise<Result>,
  {
    invalidate,
    successMessage,
    onSuccess,
  }: {
    invalidate: readonly QueryKey[];
    /** Shown as a toast. */
    successMessage?: string | ((result: Result) => string);
    onSuccess?: (result: Result) => void;
  },
) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn,
    // The result may be a secret, such as a new API key: drop it with the component that shows it.
    gcTime: 0,
    async onSuccess(result) {
      await Promise.all(invalidate.map((queryKey) => queryClient.invalidateQueries({ queryKey })));
      if (typeof successMessage === "function") toast(successMessage(result));
      else if (successMessage !== undefined) toast(successMessage);
      onSuccess?.(result);
    },
  });
}
