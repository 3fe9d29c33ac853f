import { useEffect } from 'preact/hooks'
import { useResource } from '../../components/resource.ts'
import { Empty, Failure, Loading } from '../../components/states.tsx'
import { useTitle } from '../../components/title.ts'
import { linkTo, place } from '../../state/url.ts'
import css from './help.module.css'
import { helpGroups, helpPages } from './help-list.ts'

type HelpModule = { title: string; html: string }

const modules = import.meta.glob<HelpModule>(['../../../../../docs/*.md', '!**/{dependencies,generated-clients}.md'])
const loaderOf = (page: string) => modules[`../../../../../docs/${page}.md`]

const firstPage = 'glossary'

/** The documentation of this version, with a list of its pages. The address names the page and the heading. */
export function HelpView() {
  const { page = firstPage, at = '' } = place.value.params
  return (
    <div class="page" key={page}>
      <div class={`page-inner ${css.help}`}>
        <PageList page={page} />
        <Article page={page} at={at} />
      </div>
    </div>
  )
}

const PageList = ({ page }: { page: string }) => (
  <nav class={css.pages} aria-label="Help pages">
    {Object.entries(helpGroups).map(([group, pages]) => (
      <section key={group}>
        <h2>{group}</h2>
        <ul>
          {Object.entries(pages).map(([name, title]) => (
            <li key={name}>
              <a href={linkTo('help', { page: name })} aria-current={name === page ? 'page' : undefined}>
                {title}
              </a>
            </li>
          ))}
          {group === 'Integrate' ? (
            <li>
              <a href="./docs">API reference</a>
            </li>
          ) : null}
        </ul>
      </section>
    ))}
  </nav>
)

function Article({ page, at }: { page: string; at: string }) {
  const isListed = helpPages.some(([name]) => name === page)
  const loaded = useResource(`help ${page}`, async () => (isListed ? loaderOf(page)?.() : undefined))
  const { value } = loaded
  useTitle(value?.title ?? '')
  useEffect(() => {
    if (value && at) document.getElementById(`help-${at}`)?.scrollIntoView()
  }, [value, at])
  if (loaded.error) return <Failure error={loaded.error} retry={loaded.reload} />
  if (loaded.loading) return <Loading rows={10} label="Loading the help" />
  if (!value)
    return (
      <Empty title="There is no such page">
        <a class="button" href={linkTo('help')}>
          All pages
        </a>
      </Empty>
    )
  return (
    <article class={css.article}>
      <h1>{value.title}</h1>
      {/* Made from docs/ when the page is built. */}
      <div dangerouslySetInnerHTML={{ __html: value.html }} />
    </article>
  )
}
