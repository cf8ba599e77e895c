import { buildDocsPage } from '../../openapi/docs-page.ts'

export const docs = buildDocsPage({ title: 'Quarry inference API', route: '/api/docs' })
