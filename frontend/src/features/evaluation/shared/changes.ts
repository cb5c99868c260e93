/** Some of the values of a URL; what is `undefined` leaves it. */
export type Changes<Params> = { [Key in keyof Params]?: Params[Key] | undefined };
