import { get } from '../api/client.ts'

export type Operator = { plmn: string; name: string }

/** ISO codes of countries by mobile country code (ITU-T E.212), as `code country` pairs. */
const countryCodes =
  '202GR 204NL 206BE 208FR 212MC 213AD 214ES 216HU 218BA 219HR 220RS 221XK 222IT 226RO 228CH 230CZ 231SK 232AT 234GB 235GB ' +
  '238DK 240SE 242NO 244FI 246LT 247LV 248EE 250RU 255UA 257BY 259MD 260PL 262DE 266GI 268PT 270LU 272IE 274IS 276AL 278MT ' +
  '280CY 282GE 283AM 284BG 286TR 288FO 290GL 292SM 293SI 294MK 295LI 297ME 302CA 310US 311US 312US 313US 314US 315US 316US ' +
  '330PR 334MX 338JM 342BB 344AG 346KY 350BM 352GD 364BS 368CU 370DO 372HT 374TT 400AZ 401KZ 402BT 404IN 405IN 406IN 410PK ' +
  '412AF 413LK 414MM 415LB 416JO 417SY 418IQ 419KW 420SA 421YE 422OM 424AE 425IL 426BH 427QA 428MN 429NP 432IR 434UZ 436TJ ' +
  '437KG 438TM 440JP 441JP 450KR 452VN 454HK 455MO 456KH 457LA 460CN 461CN 466TW 470BD 472MV 502MY 505AU 510ID 514TL 515PH ' +
  '520TH 525SG 528BN 530NZ 537PG 539TO 541VU 542FJ 546NC 547PF 602EG 603DZ 604MA 605TN 606LY 607GM 608SN 609MR 610ML 611GN ' +
  '612CI 613BF 614NE 615TG 616BJ 617MU 618LR 619SL 620GH 621NG 622TD 623CF 624CM 625CV 627GQ 628GA 629CG 630CD 631AO 633SC ' +
  '634SD 635RW 636ET 637SO 638DJ 639KE 640TZ 641UG 642BI 643MZ 645ZM 646MG 647RE 648ZW 649NA 650MW 651LS 652BW 653SZ 655ZA ' +
  '702BZ 704GT 706SV 708HN 710NI 712CR 714PA 716PE 722AR 724BR 730CL 732CO 734VE 736BO 738GY 740EC 744PY 746SR 748UY'

const countryByCode = new Map(countryCodes.split(' ').map((pair) => [pair.slice(0, 3), pair.slice(3)]))
const countryNames = new Intl.DisplayNames('en', { type: 'region' })

/** The country of an operator; '' for codes of no country. */
function countryOf(plmn: string): string {
  const country = countryByCode.get(plmn.slice(0, 3))
  return country ? (countryNames.of(country) ?? country) : ''
}

/**
 * Returns operators with distinct labels, sorted. An operator that shares its name with others also has its country and
 * PLMN code in its label.
 */
export function labelOperators(operators: readonly Operator[]): { plmn: string; label: string }[] {
  const sameName = Map.groupBy(operators, ({ name }) => name)
  return operators
    .map(({ plmn, name }) => ({
      plmn,
      label:
        (sameName.get(name)?.length ?? 0) < 2
          ? name
          : [name, countryOf(plmn), plmn]
              .filter((part, index, parts) => part && parts.indexOf(part) === index)
              .join(' · '),
    }))
    .sort((a, b) => a.label.localeCompare(b.label))
}

/** Labels of operators by PLMN. */
export type OperatorNames = ReadonlyMap<string, string>

export const namesOf = (operators: readonly Operator[]): OperatorNames =>
  new Map(labelOperators(operators).map(({ plmn, label }) => [plmn, label]))

/** The label of an operator; the country and the code of one whose name no device reported lately. */
export const nameOfOperator = (names: OperatorNames, plmn: string): string =>
  names.get(plmn) ?? [countryOf(plmn), plmn].filter(Boolean).join(' · ')

/** The labels of the operators that the devices of an organization measured lately. */
export async function readOperatorNames(org: string, signal: AbortSignal): Promise<OperatorNames> {
  const { fleet } = await get('/fleet/tiles.json', { signal, query: { orgId: org, layers: ['devices'] } })
  return namesOf(fleet?.operators ?? [])
}
