/** Returns a form in which texts are equal that differ only in case or encoding. The search of the service has the same rule. */
export const folded = (text: string): string =>
  // Some capitals, such as ẞ, have the upper case of their small letter only by way of it.
  text.normalize('NFD').toLowerCase().toUpperCase().replaceAll('I\u0307', 'I').normalize()
