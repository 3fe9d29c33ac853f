/** Returns a form in which texts are equal that differ only in case or encoding. The search of the service has the same rule. */
export const folded = (text: string): string =>
  text.normalize('NFD').toUpperCase().replaceAll('I\u0307', 'I').normalize()
