import { buildDocsPage } from '../../openapi/docs-page.ts'

export const docs = buildDocsPage({ title: 'Quarry store API', route: '/api/v1/docs' })
