/** Declares every field, as a user with known documents does: words are not also kept as values. */
export const ARTICLE_SCHEMA = {
  default_type: 'article',
  document_schemas: {
    article: {
      schema: {
        type: 'object',
        // Peers index each field once, and every query of a bench names its field.
        'x-service-include-in-all': [],
        properties: {
          title: { type: 'string', 'x-service-types': ['text'] },
          body: { type: 'string', 'x-service-types': ['text'] },
          category: { type: 'string', 'x-service-types': ['keyword'] },
          price: { type: 'number' },
          created: { type: 'string', 'x-service-types': ['datetime'] },
        },
      },
    },
  },
} as const
