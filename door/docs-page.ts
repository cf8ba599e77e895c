// The page that shows a contract: Swagger UI from our own disk, reading the contract next to it.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { bytesReply, emptyReply } from '../lib/http/reply.ts'
import type { BytesReply } from '../lib/http/reply.ts'

/** Nothing from elsewhere, no inline script. Swagger UI's style sheet holds its icons as data: URLs. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The rows of the errors that an operation may answer, whose examples are shown by a click on the status. */
const FOLDED =
  '.responses-table:not(.live-responses-table) .response:is([data-code^="4"], [data-code^="5"])'

// Without a null validatorUrl, Swagger UI asks a public service to judge the contract.
const START_SCRIPT = `SwaggerUIBundle({
  url: 'openapi.yaml',
  dom_id: '#swagger-ui',
  deepLinking: true,
  validatorUrl: null,
})
document.addEventListener('click', ({ target }) => {
  const status = target.closest('${FOLDED} > .response-col_status')
  status?.parentElement.classList.toggle('unfolded')
})
`

// An operation has a dozen errors of one form: their examples would be most of the page.
const STYLE = `${FOLDED} > .response-col_status { cursor: pointer; }
${FOLDED} > .response-col_status::before { content: '\\25b8\\a0'; }
${FOLDED}.unfolded > .response-col_status::before { content: '\\25be\\a0'; }
${FOLDED}:not(.unfolded) :is(.model-example, .response-controls) { display: none; }
`

const ASSET_TYPES: ReadonlyMap<string, string> = new Map([
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ['favicon-32x32.png', 'image/png'],
])

/** A page for people, which loads nothing from elsewhere. */
export interface DocsPage {
  /** Where the page is. */
  readonly route: string
  /** What the paths of the API begin with. */
  readonly prefix: string
  readonly page: BytesReply
  /** Files the page loads, and the way to it from `/`. Undefined for every other path. */
  asset(path: string): Promise<BytesReply | undefined>
}

/** The page is at `docs` below the prefix, and the contract at `openapi.yaml` beside it. */
export function buildDocsPage({ title, prefix }: DocsPlace): DocsPage {
  const folder = 'docs'
  const route = `${prefix}/${folder}`
  return {
    route,
    prefix,
    page: pageReply(Buffer.from(pageText(title, folder)), 'text/html; charset=utf-8'),
    asset: async (path) => {
      if (path === '/') return emptyReply(302, ['Location', route])
      return path.startsWith(`${route}/`) ? assetReply(path.slice(route.length + 1)) : undefined
    },
  }
}

/** What the page is called, and what the paths of its API begin with. */
export interface DocsPlace {
  readonly title: string
  readonly prefix: string
}

async function assetReply(name: string): Promise<BytesReply | undefined> {
  if (name === 'start.js') {
    return pageReply(Buffer.from(START_SCRIPT), 'text/javascript; charset=utf-8')
  }
  if (name === 'page.css') return pageReply(Buffer.from(STYLE), 'text/css; charset=utf-8')
  const type = ASSET_TYPES.get(name)
  if (type === undefined) return undefined
  const file = fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`))
  return pageReply(await readFile(file), type)
}

function pageText(title: string, folder: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="stylesheet" href="${folder}/swagger-ui.css">
<link rel="stylesheet" href="${folder}/page.css">
<link rel="icon" href="${folder}/favicon-32x32.png">
</head>
<body>
<div id="swagger-ui"></div>
<script src="${folder}/swagger-ui-bundle.js"></script>
<script src="${folder}/start.js"></script>
</body>
</html>
`
}

function pageReply(body: Buffer, type: string): BytesReply {
  return bytesReply(200, body, [
    'Content-Type',
    type,
    'Content-Security-Policy',
    CONTENT_SECURITY_POLICY,
  ])
}
