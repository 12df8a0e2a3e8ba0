{#- A dbt test: it fails with the rows of which fewer than k are alike in these columns.

    columns  the published columns that a row is made of
    k        the k of the policy
    blank    what is true of rows that found no group in time, and show nothing, such as "t_lo is null" -#}
{% macro test_k_anonymous(model, columns, k, blank="false") %}
select {{ columns | join(", ") }}, count(*) as alike
from {{ model }}
where not ({{ blank }})
group by {{ columns | join(", ") }}
having count(*) < {{ k }}
{% endmacro %}
