/** The address of a view of the web page. After the #, a token is neither sent to a server nor written to its logs. */
export const pageAddress = (baseUrl: string, view: string): string => `${baseUrl.replace(/\/$/, '')}/#/${view}`
