/** [latitude, longitude] in degrees. */
export type PlacePoint = readonly [number, number]

/**
 * The places of the demo fleet: road corridors between towns, delivery areas of cities, sea lanes. They have only towns and
 * turning points; paths.ts generates the bends.
 */
type Corridor = { line: string; plmn: string[]; through: readonly PlacePoint[]; mountains?: boolean }

export type City = { line: string; plmn: string[]; centre: PlacePoint; radiusKm: number }

type SeaLane = { line: string; plmn: string[]; through: readonly PlacePoint[] }

/** `lat,lon lat,lon …` as points. */
function towns(text: string): PlacePoint[] {
  return text.split(' ').map((pair) => {
    const [lat = 0, lon = 0] = pair.split(',').map(Number)
    return [lat, lon]
  })
}

export const corridors: readonly Corridor[] = [
  {
    line: 'Rotterdam–Arnhem',
    plmn: ['20404', '20408', '20416'],
    through: towns('51.925,4.49 52.01,4.71 52.085,5.1 52.04,5.66 51.985,5.9'),
  },
  {
    line: 'Oberhausen–Dortmund',
    plmn: ['26201', '26202', '26203'],
    through: towns('51.83,6.27 51.66,6.64 51.5,6.87 51.46,7.02 51.49,7.23 51.51,7.46'),
  },
  {
    line: 'Hamburg–Osnabrück',
    plmn: ['26201', '26202', '26203'],
    through: towns('53.5,9.98 53.28,9.51 53.06,8.85 52.9,8.43 52.62,8.2 52.29,8.06'),
  },
  {
    line: 'Paris–Tours',
    plmn: ['20801', '20810', '20820'],
    through: towns('48.82,2.34 48.43,2.16 47.92,1.9 47.6,1.34 47.41,0.7'),
  },
  {
    line: 'Lyon–Avignon',
    plmn: ['20801', '20810', '20815'],
    through: towns('45.74,4.84 45.53,4.88 44.94,4.88 44.56,4.76 44.14,4.81 43.95,4.83'),
  },
  {
    line: 'Milano–Bologna',
    plmn: ['22201', '22210', '22288'],
    through: towns('45.44,9.21 45.31,9.5 45.05,9.71 44.81,10.33 44.65,10.92 44.51,11.3'),
  },
  {
    line: 'Bologna–Firenze',
    plmn: ['22201', '22210', '22288'],
    through: towns('44.48,11.3 44.29,11.25 44.14,11.2 43.99,11.24 43.82,11.2'),
    mountains: true,
  },
  {
    line: 'Innsbruck–Bolzano',
    plmn: ['23201', '23203', '22201'],
    through: towns('47.26,11.4 47.13,11.45 47.0,11.51 46.89,11.43 46.71,11.65 46.5,11.36'),
    mountains: true,
  },
  {
    line: 'Madrid–Zaragoza',
    plmn: ['21401', '21403', '21407'],
    through: towns('40.44,-3.67 40.63,-3.17 41.17,-2.43 41.35,-1.65 41.64,-0.9'),
  },
  {
    line: 'Lisboa–Coimbra',
    plmn: ['26801', '26803', '26806'],
    through: towns('38.8,-9.1 39.24,-8.7 39.45,-8.55 39.75,-8.8 40.2,-8.43'),
  },
  {
    line: 'Warszawa–Łódź',
    plmn: ['26001', '26002', '26006'],
    through: towns('52.22,20.93 52.1,20.6 52.04,19.98 51.9,19.65 51.78,19.47'),
  },
  {
    line: 'Praha–Brno',
    plmn: ['23001', '23002', '23003'],
    through: towns('50.06,14.46 49.79,14.73 49.57,15.35 49.4,15.6 49.27,16.1 49.19,16.58'),
  },
  {
    line: 'Budapest–Szeged',
    plmn: ['21601', '21630', '21670'],
    through: towns('47.47,19.1 47.2,19.4 46.9,19.69 46.6,19.85 46.26,20.12'),
  },
  {
    line: 'Dublin–Galway',
    plmn: ['27201', '27202', '27205'],
    through: towns('53.35,-6.3 53.46,-7.05 53.42,-7.92 53.33,-8.22 53.29,-9.0'),
  },
  {
    line: 'London–Birmingham',
    plmn: ['23410', '23415', '23430'],
    through: towns('51.56,-0.22 51.66,-0.42 52.04,-0.76 52.37,-1.2 52.47,-1.86'),
  },
  {
    line: 'Stockholm–Gävle',
    plmn: ['24001', '24007', '24008'],
    through: towns('59.36,18.03 59.62,17.85 59.86,17.66 60.3,17.5 60.66,17.14'),
  },
]

export const cities: readonly City[] = [
  { line: 'Berlin', plmn: ['26201', '26202', '26203'], centre: [52.515, 13.4], radiusKm: 8 },
  { line: 'Wien', plmn: ['23201', '23203', '23205'], centre: [48.2, 16.35], radiusKm: 6 },
  { line: 'Paris', plmn: ['20801', '20810', '20820'], centre: [48.86, 2.34], radiusKm: 6 },
  { line: 'Madrid', plmn: ['21401', '21403', '21407'], centre: [40.42, -3.69], radiusKm: 6 },
  { line: 'Warszawa', plmn: ['26001', '26002', '26006'], centre: [52.225, 21.0], radiusKm: 6 },
  { line: 'Praha', plmn: ['23001', '23002', '23003'], centre: [50.075, 14.44], radiusKm: 5 },
  { line: 'Milano', plmn: ['22201', '22210', '22288'], centre: [45.465, 9.19], radiusKm: 5 },
  { line: 'London', plmn: ['23410', '23415', '23430'], centre: [51.515, -0.12], radiusKm: 8 },
  { line: 'Birmingham', plmn: ['23410', '23415', '23430'], centre: [52.48, -1.9], radiusKm: 6 },
  { line: 'München', plmn: ['26201', '26202', '26203'], centre: [48.14, 11.57], radiusKm: 6 },
]

export const seaLanes: readonly SeaLane[] = [
  {
    line: 'Europoort–Felixstowe',
    plmn: ['20404', '23415'],
    through: towns('51.995,3.98 52.02,3.2 51.95,2.3 51.92,1.42'),
  },
  {
    line: 'Calais–Dover',
    plmn: ['20801', '23415'],
    through: towns('50.98,1.84 51.02,1.68 51.11,1.36'),
  },
  {
    line: 'Travemünde–Trelleborg',
    plmn: ['26202', '24001'],
    through: towns('53.98,10.93 54.15,11.2 54.42,11.75 54.65,12.2 55.0,12.8 55.34,13.14'),
  },
  {
    line: 'Kapellskär–Tallinn',
    plmn: ['24001', '24801'],
    through: towns('59.73,19.1 59.75,19.8 59.7,21.0 59.62,22.5 59.6,23.8 59.48,24.72'),
  },
  {
    line: 'Marseille–Ajaccio',
    plmn: ['20801'],
    through: towns('43.29,5.32 43.1,5.4 42.5,7.2 41.92,8.66'),
  },
  {
    line: 'Barcelona–Palma',
    plmn: ['21401'],
    through: towns('41.34,2.19 40.5,2.4 39.6,2.2 39.42,2.5 39.53,2.63'),
  },
  {
    line: 'Piraeus–Heraklion',
    plmn: ['20201', '20205'],
    through: towns('37.93,23.6 37.65,23.65 37.2,23.95 36.6,24.1 36.0,24.7 35.37,25.13'),
  },
  {
    line: 'Cuxhaven–Helgoland',
    plmn: ['26201'],
    through: towns('53.89,8.68 54.0,8.25 54.17,7.92'),
  },
]
