/** Changes to URL parameters. `undefined` removes one. */
export type Changes<Params> = { [Key in keyof Params]?: Params[Key] | undefined };
