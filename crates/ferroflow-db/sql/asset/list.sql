SELECT {columns:asset}
FROM asset
{where}
{order}
{page}
