/** Names of programs in user agents, in lower case: facts about agents, without any rule. */

/** One name in each word of a text. */
const toNames = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/**
 * HTTP libraries, command lines, and browsers that call themselves no Mozilla: the first product of
 * their user agents. They are not crawlers: a script that follows a link counts as its owner.
 */
export const OWN_PROGRAMS = toNames(`
  aiohttp alamofire apache-httpasyncclient apache-httpclient apachebench aria2 autocannon axios bun
  curl dart deno dillo elinks faraday go-http-client go-resty got guzzlehttp hey http-tiny http.rb httpie
  hyper insomnia java java-http-client k6 libwww-perl links lwp::simple lynx netsurf node node-fetch
  node-superagent oha okhttp php php-curl-class postmanruntime powershell python python-httpx
  python-requests python-urllib python-urllib3 reactornetty reqwest ruby superagent symfony undici
  ureq urllib3 vegeta w3m wget wget2 winhttp wrk
`);

/** Bots whose names have none of the words that bots' names have. */
export const BOT_NAMES = toNames(`
  abuse.xmco.fr acunetix agent-novaact appinsights archivebox binglocalsearch casperjs catchpoint
  cloudflare-amphtml cloudflarediagnostics cloudflareobservatory collapsify convertify
  cookiehubscan cookiehubverify copperegg criticalcss.com cypress dareboost datanyze daum daumoa
  daumoa-image debugbear dejaclick devin dlc dmbrowser dmbrowser-bv evc-batch facebookcatalog
  facebookexternalhit feeder.co foregenix functionize gomezagent gtmetrix hardenize hotjar httrack
  hubspot ia_archiver inspector iplabel ips-agent khtml2png kimonolabs linktiger manus-user
  marketgoo meta-externalagent miniature.io mshots netnewswire neustar newsai newsnow nikto
  nitro-optimizer-agent openvas phantomjs pingdom pingdomtms playwright printfriendly.com ps_daily
  ptst pwabuilderhttpagent readable rigor rmsnapkit scope3 securityheaders selenium
  semantic-visions-discovery siege silktide sindup site24x7 siteimprove siteimprove.com sitesucker
  slimerjs sparkler splash statuscake taginspector testlocally thousandeyes tineye
  wappalyzer watchtowr webcapture webkit2png websnapr webthumb whatcms wkhtmltoimage wkhtmltopdf ylt
`);
