/** Documented errors of the routes that read the fleet map. */
export const planned = {
  403: { description: 'The scope is missing, or the plan does not include this feature (`plan_feature`).' },
}
export const hidden = { 404: { description: 'The organization or group does not exist, or you cannot read it.' } }
