/** The objects of requests and responses, by their names in our OpenAPI document. */
import * as z from "zod";

/** An object of responses. */
export const component = <Shape extends z.ZodRawShape>(
  id: string,
  description: string,
  shape: Shape,
) => z.object(shape).meta({ id, description });

/** An object of requests: other fields than its own are an error. */
export const strictComponent = <Shape extends z.ZodRawShape>(
  id: string,
  description: string,
  shape: Shape,
) => z.strictObject(shape).meta({ id, description });
