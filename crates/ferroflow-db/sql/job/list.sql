SELECT {columns:job}
FROM job
{where}
{order}
{page}
