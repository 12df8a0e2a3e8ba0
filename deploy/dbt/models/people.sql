{{ config(materialized="table") }}
select t.lo as t_lo, t.hi as t_hi,
       age.lo as age_lo, age.hi as age_hi, coalesce(age.or_missing, false) as age_or_missing,
       city.value as city, coalesce(city.or_missing, false) as city_or_missing,
       ill
from read_parquet('{{ var("published") }}', union_by_name = true)
