/**
 * The world map in the dashboard's build: its shapes as they are drawn, instead of the geography
 * that they are drawn from, and what draws them.
 */
import type { BunPlugin } from "bun";

import * as shapes from "../shared/statistics/world-shapes.ts";

export const drawnShapes: BunPlugin = {
  name: "drawn shapes",
  setup(build) {
    build.onLoad({ filter: /shared\/statistics\/world-shapes\.ts$/ }, () => {
      const { findShapes, WIDTH, HEIGHT } = shapes;
      const contents = `
        const shapes = ${JSON.stringify(findShapes())};
        export const findShapes = () => shapes;
        export const WIDTH = ${WIDTH};
        export const HEIGHT = ${HEIGHT};`;
      return { contents, loader: "js" };
    });
  },
};
