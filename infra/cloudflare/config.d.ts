// The uploaded configuration is a text module: see "rules" in wrangler.jsonc.
declare module '*/foghorn.config.json' {
  const text: string
  export default text
}
