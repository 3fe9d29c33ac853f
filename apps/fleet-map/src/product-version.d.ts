/** The version of package.json, which the build inserts. */
declare const productVersion: string
