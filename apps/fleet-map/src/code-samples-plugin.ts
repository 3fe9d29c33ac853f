import { codeSamples, type Language, languages, type SampleOperation } from './api/code-samples.ts'

type Props = { path: string; method: string; [name: string]: unknown }
type Component = (props: Props) => unknown

/** The part of React that Swagger UI gives to its plugins. */
type React = {
  createElement(type: string | Component, props: object | null, ...children: unknown[]): unknown
  useState<Value>(initial: Value): [Value, (value: Value) => void]
}

type Documented = { paths: Record<string, Record<string, object>> }

/** A plugin of Swagger UI that shows each operation as code, between its parameters and its responses. */
export const codeSamplesPlugin =
  ({ paths }: Documented, baseUrl: string) =>
  ({ React }: { React: React }) => {
    const h = React.createElement

    const Samples: Component = ({ path, method }) => {
      const [language, setLanguage] = React.useState<Language>('curl')
      const operation = paths[path]?.[method] as SampleOperation | undefined
      if (!operation) return null
      const samples = codeSamples({ path, method, operation, baseUrl })
      const tabs = languages.map((name) =>
        h(
          'button',
          { key: name, type: 'button', 'aria-pressed': name === language, onClick: () => setLanguage(name) },
          name,
        ),
      )
      const copy = () => void navigator.clipboard.writeText(samples[language])
      return h(
        'section',
        { className: 'code-samples', 'aria-label': 'Code samples' },
        h('div', { className: 'code-samples-tabs' }, ...tabs, h('button', { type: 'button', onClick: copy }, 'Copy')),
        h('pre', { tabIndex: 0 }, h('code', null, samples[language])),
      )
    }

    const withSamples =
      (Responses: Component): Component =>
      (props) =>
        h('div', null, h(Samples, { path: props.path, method: props.method }), h(Responses, props))

    return { wrapComponents: { responses: withSamples } }
  }
