/** The types of indexed fields. */
export const FIELD_TYPES = [
  'text',
  'html',
  'keyword',
  'numeric',
  'boolean',
  'datetime',
  'geopoint',
  'geoshape',
  'embedding',
  'blob',
  'link',
  'search_as_you_type',
] as const
export type FieldType = (typeof FIELD_TYPES)[number]
