/** The theme of VitePress with the fonts of the system, which need no download. */
import Theme from "vitepress/theme-without-fonts";

import "./style.css";

export default Theme;
