/** A point on the globe, in degrees. */
export interface GeoPoint {
  /** -180 to 180. */
  readonly lon: number
  /** -90 to 90. */
  readonly lat: number
}
