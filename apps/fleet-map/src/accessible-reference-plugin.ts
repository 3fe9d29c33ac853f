type Props = { [name: string]: unknown }
type Component = (props: Props) => unknown

/** The part of React that Swagger UI gives to its plugins. */
type React = { createElement(type: string | Component, props: object | null, ...children: unknown[]): unknown }

/** A plugin of Swagger UI that mends what a keyboard or a screen reader cannot use. `base`: the address of the only server. */
export const accessibleReferencePlugin =
  (base: string) =>
  ({ React }: { React: React }) => {
    const h = React.createElement
    return {
      components: {
        // The name of an operation is in the button that opens it, which also puts the operation into the address.
        DeepLink: ({ text }: Props) => h('span', null, text),
        // A choice of one server, without a name.
        ServersContainer: () => h('p', { className: 'base-address' }, 'Base address: ', h('code', null, base)),
        // An example that scrolls has the focus for the arrow keys.
        SyntaxHighlighter: ({ children, className }: Props) =>
          h('pre', { className: `${String(className ?? '')} microlight`, tabIndex: 0 }, h('code', null, children)),
      },
      wrapComponents: {
        CloseIcon:
          (Original: Component): Component =>
          (props) =>
            h('span', null, h(Original, props), h('span', { className: 'visually-hidden' }, 'Close')),
        // Swagger UI gives the choices of a parameter no name.
        Select:
          (Original: Component): Component =>
          (props) =>
            h('label', null, h('span', { className: 'visually-hidden' }, 'Value'), h(Original, props)),
        // Its text is the name of a button, by which a person says which one to press.
        Button:
          (Original: Component): Component =>
          ({ 'aria-label': _, ...props }) =>
            h(Original, props),
      },
    }
  }
